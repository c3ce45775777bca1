import Glibc

extension TemporaryName {
    struct File {
        let path: String
        let isAbandoned: Bool
        let status: stat
    }

    /// The files with names of `kind` in `directory` itself; none when there is no such directory.
    static func files(_ kind: Kind, in directory: String) throws(StoreError) -> [File] {
        guard var names = try DirectoryStream(ifPresent: directory, following: true) else { return [] }
        var files: [File] = []
        while let name = try names.next({ String(cString: $0) }) {
            guard let parsed = TemporaryName(name), parsed.kind == kind else { continue }
            var status = stat()
            let path = directory + "/" + name
            // Another process may have renamed or deleted it.
            guard lstat(path, &status) == 0 else { continue }
            let age = time(nil) - status.st_mtim.tv_sec
            files.append(File(path: path, isAbandoned: parsed.isAbandoned(age: age), status: status))
        }
        return files
    }
}
