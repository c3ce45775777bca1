import Glibc
import Transcoder

if CommandLine.arguments.dropFirst().first == "transcoder" { exit(TranscoderProcess.run(socket: 3)) }

print("larder")
