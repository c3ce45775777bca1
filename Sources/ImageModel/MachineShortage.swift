private import Glibc

/// The shortage of this machine when a system call fails (error 501). The only list of these error numbers.
package enum MachineShortage {
    /// The shortage that an error number means; nil for none.
    ///
    /// - Parameter startsProcess: the call starts a process or passes descriptors to one. For other calls EAGAIN only
    ///   means that they would block.
    package static func reason(_ number: Int32, startsProcess: Bool = false) -> String? {
        switch number {
        case EMFILE: "the process has too many open files"
        case ENFILE: "the system has too many open files"
        case ENOMEM, ENOBUFS: "the system has no memory"
        case ENOSPC: "the disk is full"
        case EDQUOT: "the disk quota is exceeded"
        case EROFS: "the file system is read-only"
        case EAGAIN where startsProcess: "the system has no process left"
        case ETOOMANYREFS where startsProcess: "too many open files are being passed to processes"
        default: nil
        }
    }
}
