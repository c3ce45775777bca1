private import CLinux
private import Glibc
internal import ImageModel
internal import Transcoder

/// A child's sandbox: it may only compute and use the descriptors that it is given.
///
/// Owns the descriptor through which the child reads its own status after it can no longer open files.
struct Sandbox: ~Copyable {
    /// The enforced level; nil before `enter`.
    private(set) var level: SandboxLevel?
    private let status: Int32
    /// The idle child's address space, before any image.
    private let idle: UInt64
    /// The process's memory at the last `readMemory`.
    private var memory: larder_memory
    /// Maximum mapped bytes.
    private var end: UInt64 = .max
    /// Peak above which the child is replaced.
    private var recycleAbove: UInt64 = .max
    /// Mapped peak before the current image.
    private var earlierPeak: UInt64 = 0

    /// Gives up what the libraries do not need to start; false on failure. Call it before they start and before there
    /// is a second thread.
    static func prepareProcess() -> Bool {
        guard larder_drop_privileges() == 0, larder_set_limit(larder_limit_core, 0) == 0 else { return false }
        // A file above the size limit is then an error of its store.
        signal(SIGXFSZ, SIG_IGN)
        // Two heaps hold far less free memory than one per thread, and cost little time.
        larder_limit_heaps(2)
        // libvips writes larger images to a temporary file, which cannot be opened here.
        setenv("VIPS_DISC_THRESHOLD", "1000g", 1)
        setenv("VIPS_CONCURRENCY", "1", 1)
        for name in ["VIPS_NOVECTOR", "VIPS_LEAK", "VIPS_TRACE", "VIPS_PROFILE"] { unsetenv(name) }
        return true
    }

    /// Nil if the process cannot read its own status.
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

    /// Denies all files but the system's libraries and devices, for threads started before `enter`, which `enter` does
    /// not cover. Call it after all libraries have opened their files and before there is a second thread.
    static func restrictEarlyThreads() {
        let readable: [StaticString] = ["/usr", "/lib", "/lib64", "/sys"]
        let paths: [UnsafePointer<CChar>?] = readable.map { name in
            UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        }
        // `enter` detects a missing Landlock.
        _ = larder_deny_files(paths, Int32(paths.count))
    }

    /// Sets the limits, which nothing in the process can raise, and denies everything that images do not need. Call it
    /// once, after all libraries have opened their files and before the first image. False if a limit cannot be set.
    ///
    /// - Parameter socket: the socket to the pool.
    mutating func enter(_ limits: TranscodeLimits, socket: Int32) -> Bool {
        // Codec threads' stacks, heap slack and the mapped source do not count for the image.
        let room = UInt64(limits.memoryBytes) + (256 << 20)
        end = idle + room
        recycleAbove = end - UInt64(limits.memoryBytes) / 2
        // The source, one output per variant, and already open descriptors.
        let descriptors = UInt64(Pipeline.variantLimit) + 16
        guard larder_set_limit(larder_limit_memory, end) == 0, larder_set_limit(larder_limit_file_size, room) == 0,
            larder_set_limit(larder_limit_descriptors, descriptors) == 0
        else { return false }
        // Files first: the system call filter denies Landlock's calls.
        let deniesFiles = larder_deny_files(nil, 0) == 0
        let filtersCalls = larder_filter_system_calls(socket) == 0
        level = SandboxLevel(filtersCalls: filtersCalls, deniesFiles: deniesFiles)
        // The libraries' start-up memory does not count for the first image.
        readMemory()
        return true
    }

    /// Begins an image: a memory peak counts for it only if it is higher than all before.
    mutating func beginImage() { earlierPeak = memory.mapped_peak }

    /// Reads the process's memory use. Call it after each image.
    mutating func readMemory() { larder_read_memory(status, &memory) }

    /// Whether the memory limit works, tested by exceeding it.
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
    /// The kernel keeps one peak for the child's lifetime, so it counts for this image only if it has grown.
    func isOutOfMemory(_ header: SourceHeader?) -> Bool {
        var memory = larder_memory()
        guard larder_read_memory(status, &memory) == 0 else { return false }
        let buffer = UInt64((header?.storedSize.area ?? 0) * 8)
        let peak = memory.mapped_peak > earlierPeak ? memory.mapped_peak : memory.mapped
        return peak + buffer >= end
    }

    /// Whether the peak is so high that the next image's peak might be hidden.
    var mustRecycle: Bool { memory.mapped_peak > recycleAbove }

    /// Resident memory after the image, and its peak.
    var resident: (now: Int, peak: Int) { (Int(memory.resident), Int(memory.resident_peak)) }
}
