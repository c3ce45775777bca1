import Glibc

/// The descriptors 0, 1 and 2 of a program that was started without them.
package enum StandardDescriptors {
    /// Opens a device for each one that is closed, so that no other file gets its number: results would be written into
    /// it. Reading and writing fail as before, because the device is open for the other direction. Call it before any
    /// file is opened.
    package static func hold() {
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
            // Gets the lowest free number, which is this one.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
