import Codecs
import Glibc

/// The program of the children that decode images, and of the processes that become a coder's program. Started only by
/// a pool of `Transcoder`, with the pool's socket as descriptor 3 and the program's own file as descriptor 4.
@main
struct LarderTranscoder {
    static func main() {
        var status = stat()
        guard fstat(3, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
            let note = Array("larder-transcoder: larder starts it; it has no use by hand\n".utf8)
            write(STDERR_FILENO, note, note.count)
            exit(64)
        }
        close(4)
        let isForCoder = CoderProcess.isRequested(CommandLine.arguments)
        exit(isForCoder ? CoderProcess.run(socket: 3) : TranscoderProcess.run(socket: 3))
    }
}
