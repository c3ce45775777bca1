/// A kernel that lacks a part of the sandbox, as programs see it: the calls fail with ENOSYS.
public final class LimitedKernel: Sendable {
    /// What it lacks.
    public enum Part: String, Sendable, CaseIterable {
        case seccomp, landlock
    }

    private let program: CompiledC

    /// Builds the program that starts others so.
    public init() async throws { program = try await CompiledC(Self.source) }

    /// The command line of `words` on a kernel without `parts`.
    public func words(without parts: [Part], _ words: [String]) -> [String] {
        parts.isEmpty ? words : [program.path] + parts.map(\.rawValue) + ["--"] + words
    }

    private static let source = """
        #define _GNU_SOURCE
        #include <errno.h>
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <string.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        #include <unistd.h>

        int main(int count, char **words) {
            struct sock_filter code[16] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
            unsigned short length = 1;
            int index = 1;
            for (; index < count && strcmp(words[index], "--") != 0; index++) {
                unsigned call = strcmp(words[index], "seccomp") == 0 ? __NR_seccomp : __NR_landlock_create_ruleset;
                code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
                code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
            }
            code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
            struct sock_fprog filter = {length, code};
            if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
                perror("prctl");
                return 1;
            }
            execvp(words[index + 1], words + index + 1);
            perror(words[index + 1]);
            return 1;
        }

        """
}
