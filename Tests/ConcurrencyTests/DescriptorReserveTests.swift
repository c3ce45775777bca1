import Glibc
import Testing

@testable import Concurrency

@Suite(.timeLimit(.minutes(1)))
struct DescriptorReserveTests {
    @Test func `a process with fewer free descriptors than the reserve has a shortage, and one with more has none`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            func limit(_ count: Int) {
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = rlim_t(count)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            }
            let descriptor = open("/", O_RDONLY | O_CLOEXEC)
            close(descriptor)
            let lowest = Int(descriptor)
            limit(lowest + DescriptorReserve.size)
            let enough = DescriptorReserve.shortage()
            limit(lowest + DescriptorReserve.size - 1)
            let few = DescriptorReserve.shortage()
            limit(0)
            let none = DescriptorReserve.shortage()
            exit(enough == nil && few == EMFILE && none == EMFILE ? 0 : 1)
        }
    }
}
