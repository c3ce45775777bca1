private import CLinux
private import Glibc
internal import ImageModel

/// The limits of a child: set before the first image, tightened around each.
///
/// Move-only: the single owner of the descriptor through which the child reads its own status when it can no longer
/// open files.
struct Sandbox: ~Copyable {
    private let status: Int32
    /// The address space of the idle child, before any image.
    private let idle: UInt64
    /// The most that may be mapped during the current image.
    private var end: UInt64 = .max
    /// Above this peak the child is replaced.
    private var recycleAbove: UInt64 = .max
    /// The most that had been mapped before the current image.
    private var earlierPeak: UInt64 = 0

    /// Limits everything but memory, which is counted from what the libraries take to start. Call it before they start.
    static func prepareProcess() {
        larder_no_new_privileges()
        larder_set_hard_limit(larder_limit_core, 0)
        // Two heaps hold far less free memory than one per thread, and cost little time.
        larder_limit_heaps(2)
        // libvips writes images above this size to a temporary file, which cannot be opened here.
        setenv("VIPS_DISC_THRESHOLD", "1000g", 1)
        setenv("VIPS_CONCURRENCY", "1", 1)
        for name in ["VIPS_NOVECTOR", "VIPS_LEAK", "VIPS_TRACE", "VIPS_PROFILE"] { unsetenv(name) }
    }

    /// Returns nil when the process cannot read its own status.
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

    /// Allows the descriptors that are attached to a request.
    func allowDescriptors() {
        larder_set_soft_limit(larder_limit_descriptors, UInt64(Pipeline.variantLimit) + 16)
    }

    /// Tightens the limits for one image: no file can be opened, memory and time are limited.
    mutating func tighten(for limits: TranscodeLimits, sourceBytes: Int) {
        // Not 0: `poll`, in which the thread that watches the pool sleeps, refuses more descriptors than the limit.
        // Descriptor 0 is in use, so nothing can be opened.
        larder_set_soft_limit(larder_limit_descriptors, 1)
        // The stacks of codecs' threads, the heap's slack and the mapped source are not the image's.
        let room = UInt64(limits.memoryBytes) + UInt64(sourceBytes) + (192 << 20)
        end = idle + room
        recycleAbove = end - UInt64(limits.memoryBytes) / 2
        earlierPeak = memory?.mapped_peak ?? 0
        larder_set_soft_limit(larder_limit_memory, end)
        // The pool measures wall time; this limit remains if it fails. Codecs have threads and may use more than that.
        let used = UInt64(processorTime.components.seconds)
        let allowed = UInt64(limits.hardTime.components.seconds) * 4 + 10
        larder_set_soft_limit(larder_limit_processor_seconds, used + allowed)
    }

    /// Whether the limit on memory holds, found by exceeding it.
    mutating func limitsMemory(_ limits: TranscodeLimits) -> Bool {
        tighten(for: limits, sourceBytes: 0)
        defer { allowDescriptors() }
        let start = mmap(nil, Int(end - idle) + (1 << 30), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return true }
        munmap(start, Int(end - idle) + (1 << 30))
        return false
    }

    /// Whether memory has run out, or one more buffer of the image's size would exceed the limit. A failure then counts
    /// as 205: a refused allocation leaves no trace but the libraries' messages.
    ///
    /// The kernel keeps one peak for the child's whole life, so it counts for this image only when it has grown.
    func isOutOfMemory(_ header: SourceHeader?) -> Bool {
        guard let memory else { return false }
        let buffer = UInt64((header?.storedSize.area ?? 0) * 8)
        let peak = memory.mapped_peak > earlierPeak ? memory.mapped_peak : memory.mapped
        return peak + buffer >= end
    }

    /// Whether the peak is so high that the peak of the next image might not be visible.
    var mustRecycle: Bool { (memory?.mapped_peak ?? 0) > recycleAbove }

    /// Resident memory now, and its peak.
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
