private import CLinux
private import Glibc
internal import ImageModel
internal import Transcoder

/// The sandbox of a child: it may only compute, and use the descriptors that it is given.
///
/// Move-only: the single owner of the descriptor through which the child reads its own status when it can no longer
/// open files.
struct Sandbox: ~Copyable {
    /// The level that the kernel enforces; nil before `enter`.
    private(set) var level: SandboxLevel?
    private let status: Int32
    /// The address space of the idle child, before any image.
    private let idle: UInt64
    /// The process's memory when `readMemory` last ran.
    private var memory: larder_memory
    /// The most that may be mapped.
    private var end: UInt64 = .max
    /// Above this peak the child is replaced.
    private var recycleAbove: UInt64 = .max
    /// The most that had been mapped before the current image.
    private var earlierPeak: UInt64 = 0

    /// Gives up what the libraries do not need to start; false when that fails. Call it before they start, and before
    /// there is a second thread.
    static func prepareProcess() -> Bool {
        guard larder_drop_privileges() == 0, larder_set_limit(larder_limit_core, 0) == 0 else { return false }
        // A file above the limit on its size is then an error of its store.
        signal(SIGXFSZ, SIG_IGN)
        // Two heaps hold far less free memory than one per thread, and cost little time.
        larder_limit_heaps(2)
        // libvips writes images above this size to a temporary file, which cannot be opened here.
        setenv("VIPS_DISC_THRESHOLD", "1000g", 1)
        setenv("VIPS_CONCURRENCY", "1", 1)
        for name in ["VIPS_NOVECTOR", "VIPS_LEAK", "VIPS_TRACE", "VIPS_PROFILE"] { unsetenv(name) }
        return true
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
        self.memory = memory
    }

    deinit { Glibc.close(status) }

    /// Denies all files but the system's libraries and devices, for threads that start before `enter`, which
    /// it does not reach. Call it when all libraries have opened their files, and before there is a second thread.
    static func restrictEarlyThreads() {
        let readable: [StaticString] = ["/usr", "/lib", "/lib64", "/sys"]
        let paths: [UnsafePointer<CChar>?] = readable.map { name in
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        }
        // Where Landlock is missing, `enter` finds that out.
        _ = larder_deny_files(paths, Int32(paths.count))
    }

    /// Sets the limits, which nothing in the process can raise, and denies all that images do not need. Call it once,
    /// when all libraries have opened their files, before the first image is read. False when a limit cannot be set.
    ///
    /// - Parameter socket: the socket to the pool.
    mutating func enter(_ limits: TranscodeLimits, socket: Int32) -> Bool {
        // The stacks of codecs' threads, the heap's slack and the mapped source are not the image's.
        let room = UInt64(limits.memoryBytes) + (256 << 20)
        end = idle + room
        recycleAbove = end - UInt64(limits.memoryBytes) / 2
        // The source, an output for each variant, and what is open already.
        let descriptors = UInt64(Pipeline.variantLimit) + 16
        guard larder_set_limit(larder_limit_memory, end) == 0, larder_set_limit(larder_limit_file_size, room) == 0,
            larder_set_limit(larder_limit_descriptors, descriptors) == 0
        else { return false }
        // Files first: the filter of system calls does not allow Landlock's.
        let deniesFiles = larder_deny_files(nil, 0) == 0
        let filtersCalls = larder_filter_system_calls(socket) == 0
        level = SandboxLevel(filtersCalls: filtersCalls, deniesFiles: deniesFiles)
        // The memory of the libraries' start does not count for the first image.
        readMemory()
        return true
    }

    /// Begins an image: a peak of memory counts for it only when it is higher than all before.
    mutating func beginImage() { earlierPeak = memory.mapped_peak }

    /// Reads what the process holds. Call it after each image.
    mutating func readMemory() { larder_read_memory(status, &memory) }

    /// Whether the limit on memory holds, found by exceeding it.
    var limitsMemory: Bool {
        let length = Int(end - idle) + (1 << 30)
        let start = mmap(nil, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let start, start != MAP_FAILED else { return true }
        munmap(start, length)
        return false
    }

    /// Whether memory has run out, or one more buffer of the image's size would exceed the limit. A failure then counts
    /// as 205: a refused allocation leaves no trace but the libraries' messages.
    ///
    /// The kernel keeps one peak for the child's whole life, so it counts for this image only when it has grown.
    func isOutOfMemory(_ header: SourceHeader?) -> Bool {
        var memory = larder_memory()
        guard larder_read_memory(status, &memory) == 0 else { return false }
        let buffer = UInt64((header?.storedSize.area ?? 0) * 8)
        let peak = memory.mapped_peak > earlierPeak ? memory.mapped_peak : memory.mapped
        return peak + buffer >= end
    }

    /// Whether the peak is so high that the peak of the next image might not be visible.
    var mustRecycle: Bool { memory.mapped_peak > recycleAbove }

    /// Resident memory after the image, and its peak.
    var resident: (now: Int, peak: Int) { (Int(memory.resident), Int(memory.resident_peak)) }
}
