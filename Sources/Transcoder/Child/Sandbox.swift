private import CLinux
private import Glibc
internal import ImageModel

/// What a child may use: put up before the first picture, tightened around each.
///
/// Move-only: the one owner of the descriptor through which the child looks at itself once it can open nothing.
struct Sandbox: ~Copyable {
    private let status: Int32
    /// The address space of the idle child, before any picture.
    private let idle: UInt64
    /// The most that may be mapped during the picture at hand.
    private var end: UInt64 = .max
    /// The most that may have been mapped without doubt about the next picture.
    private var wear: UInt64 = .max
    /// The most that had been mapped before the picture at hand.
    private var earlierPeak: UInt64 = 0

    /// Everything but memory, which is counted from what the libraries take to start: call it before they do.
    static func beforeLibraries() {
        larder_no_new_privileges()
        larder_set_hard_limit(larder_limit_core, 0)
        // Two heaps hold far less free memory than one per thread, for little time.
        larder_limit_heaps(2)
        // A picture that does not fit into 100 MB would go through a temporary file, which cannot be opened here.
        setenv("VIPS_DISC_THRESHOLD", "1000g", 1)
        setenv("VIPS_CONCURRENCY", "1", 1)
        // "Unlimited" and the like are nobody's to switch on from outside.
        unsetenv("VIPS_NOVECTOR")
        unsetenv("VIPS_LEAK")
        unsetenv("VIPS_TRACE")
        unsetenv("VIPS_PROFILE")
    }

    /// Lets nothing more out by standard error: fontconfig and poppler complain there, the latter in the words of the file.
    ///
    /// Standard output is `/dev/null` in a child.
    static func silence() { dup2(STDOUT_FILENO, STDERR_FILENO) }

    /// Nil when the process cannot see its own status.
    init?() {
        let descriptor = Glibc.open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        var memory = larder_memory()
        guard descriptor >= 0, larder_read_memory(descriptor, &memory) == 0 else {
            if descriptor >= 0 { Glibc.close(descriptor) }
            return nil
        }
        status = descriptor
        idle = memory.mapped
    }

    deinit { Glibc.close(status) }

    /// Lets descriptors in: a request's, which are attached to it.
    func openForRequest() {
        larder_set_soft_limit(larder_limit_descriptors, UInt64(Pipeline.variantLimit) + 16)
    }

    /// Shuts the child in for one picture: nothing can be opened, memory and time end.
    mutating func shut(for limits: TranscodeLimits, sourceBytes: Int) {
        // Not 0: `poll`, in which the watch on the pool sleeps, refuses more descriptors than the limit. Number 0 is
        // taken, so nothing can be opened.
        larder_set_soft_limit(larder_limit_descriptors, 1)
        // Stacks of codecs' threads, the heap's slack and the mapped source are not the picture's.
        let room = UInt64(limits.memoryBytes) + UInt64(sourceBytes) + (192 << 20)
        end = idle + room
        wear = end - UInt64(limits.memoryBytes) / 2
        earlierPeak = memory?.mapped_peak ?? 0
        larder_set_soft_limit(larder_limit_memory, end)
        // A backstop: the pool counts real time. Codecs have threads, so they may use more processor time than that.
        let used = UInt64(processorTime.components.seconds)
        let allowed = UInt64(limits.hardTime.components.seconds) * 4 + 10
        larder_set_soft_limit(larder_limit_processor_seconds, used + allowed)
    }

    /// Whether the limit on memory holds, found by setting it.
    mutating func limitsMemory(_ limits: TranscodeLimits) -> Bool {
        shut(for: limits, sourceBytes: 0)
        defer { openForRequest() }
        let start = mmap(nil, Int(end - idle) + (1 << 30), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return true }
        munmap(start, Int(end - idle) + (1 << 30))
        return false
    }

    /// Whether memory has run out, or one more buffer of the picture's size would have made it so: a failure is then
    /// put down to that. An allocation that was refused leaves no other trace but libraries' messages.
    ///
    /// The kernel keeps one peak for all the child's life, so it speaks of this picture only where it has grown.
    func isAtMemoryEnd(_ header: SourceHeader?) -> Bool {
        guard let memory else { return false }
        let buffer = UInt64((header?.storedSize.area ?? 0) * 8)
        let peak = memory.mapped_peak > earlierPeak ? memory.mapped_peak : memory.mapped
        return peak + buffer >= end
    }

    /// Whether the peak is so high that the next picture's own might hide below it.
    var isWorn: Bool { (memory?.mapped_peak ?? 0) > wear }

    /// The memory held now, and the most that ever was.
    var resident: (now: Int, peak: Int) {
        guard let memory else { return (0, 0) }
        return (Int(memory.resident), Int(memory.resident_peak))
    }

    private var memory: larder_memory? {
        var memory = larder_memory()
        return larder_read_memory(status, &memory) == 0 ? memory : nil
    }

    /// User and system time of all threads.
    var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
