/// Shell completion of commands, options and batch names, made from the command table.
package enum CompletionScript: String, CaseIterable {
    case bash, zsh, fish

    package func text(of table: CommandTable) -> String {
        let words = CompletionWords(table)
        return switch self {
        case .bash: words.bashText
        case .zsh: words.zshText
        case .fish: words.fishText
        }
    }
}

/// A program's command words, in the shells' languages.
private struct CompletionWords {
    /// Prints each batch name once, as a name has many runs. `status` creates nothing; without a database there are
    /// none.
    private static let batches =
        #"larder status --json 2>/dev/null | sed -n 's/.*"batch":"\([^"\\]*\)".*/\1/p' | sort -u"#

    private let table: CommandTable
    private let families: [String]
    private let firstWords: [String]

    init(_ table: CommandTable) {
        self.table = table
        families = table.all.filter { $0.words.count > 1 }.map { $0.words[0] }.unique
        firstWords = table.all.map { $0.words[0] }.unique + ["help", "version"]
    }

    private func options(_ command: Command) -> [Option] { command.options + CommandTable.commonOptions }

    private func flags(_ command: Command) -> String {
        options(command).map { "--\($0.name)" }.joined(separator: " ")
    }

    private func valued(_ command: Command) -> String {
        options(command).filter { $0.kind != .flag }.map { "--\($0.name)" }.joined(separator: "|")
    }

    /// The cases of a shell's `case "$command"` that set what may follow a command.
    private var cases: String {
        var text = "    '') next='\(firstWords.joined(separator: " "))' ;;\n"
        for family in families {
            let seconds = table.all.filter { $0.words.count > 1 && $0.words[0] == family }.map { $0.words[1] }
            text += "    '\(family)') next='\(seconds.joined(separator: " "))' ;;\n"
        }
        for command in table.all {
            let kind = command.operands.contains("BATCH") ? " batch=1" : ""
            text += "    '\(command.name)') options='\(flags(command))' valued='\(valued(command))'\(kind) ;;\n"
        }
        return text
    }

    /// Finds the command before the word to complete; `families` have a second word.
    private static let search = """
            case $word in
            -*) ;;
            *)
                if [[ -z $command ]]; then
                    command=$word
                    [[ $word == help ]] && command=
                elif [[ " $families " == *" $command "* ]]; then
                    command="$command $word"
                fi ;;
            esac
        """

    var bashText: String {
        """
        # Completion of larder for bash, printed by 'larder manual --completion bash'.
        _larder() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
            local families='\(families.joined(separator: " "))' command='' next='' options='' valued='' batch='' word
            COMPREPLY=()
            for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        \(Self.search)
            done
            case $command in
        \(cases)    esac
            if [[ -n $valued && "|$valued|" == *"|$previous|"* ]]; then
                [[ $previous == --batch ]] || { compopt -o default 2>/dev/null; return; }
                batch=1 options=''
            fi
            if [[ -n $next ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$next" -- "$current")
            elif [[ $current == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
            elif [[ -n $batch ]]; then
                local IFS=$'\\n'
                mapfile -t COMPREPLY < <(\(Self.batches) | while read -r word; do
                    [[ $word == "$current"* ]] && printf '%q\\n' "$word"
                done)
            else
                compopt -o default 2>/dev/null
            fi
        }
        complete -F _larder larder

        """
    }

    var zshText: String {
        """
        #compdef larder
        # Completion of larder for zsh, printed by 'larder manual --completion zsh'.
        local current=$words[CURRENT] previous=$words[CURRENT-1]
        local families='\(families.joined(separator: " "))' command='' next='' options='' valued='' batch='' word
        for word in "${(@)words[2,CURRENT-1]}"; do
        \(Self.search)
        done
        case $command in
        \(cases)esac
        if [[ -n $valued && "|$valued|" == *"|$previous|"* ]]; then
            [[ $previous == --batch ]] || { _files; return; }
            batch=1
        fi
        if [[ -n $next ]]; then
            compadd -- ${=next}
        elif [[ $current == -* ]]; then
            compadd -- ${=options}
        elif [[ -n $batch ]]; then
            compadd -- "${(@f)$(\(Self.batches))}"
        else
            _files
        fi

        """
    }

    var fishText: String {
        var text = "# Completion of larder for fish, printed by 'larder manual --completion fish'.\n"
        text += "complete -c larder -n __fish_use_subcommand -f -a '\(firstWords.joined(separator: " "))'\n"
        for family in families {
            let seconds = table.all.filter { $0.words.count > 1 && $0.words[0] == family }.map { $0.words[1] }
            let words = seconds.joined(separator: " ")
            text += "complete -c larder -n '__fish_seen_subcommand_from \(family); and not "
            text += "__fish_seen_subcommand_from \(words)' -f -a '\(words)'\n"
        }
        for command in table.all {
            let condition =
                "-n '" + command.words.map { "__fish_seen_subcommand_from \($0)" }.joined(separator: "; and ")
            for option in options(command) {
                let help = option.help.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
                let names = "-l \(option.name)" + (option.short.map { " -s \($0)" } ?? "")
                let value = option.kind == .flag ? "" : " -r"
                text += "complete -c larder \(condition)' \(names)\(value) -d '\(help)'\n"
            }
            if command.operands.contains("BATCH") {
                text += "complete -c larder \(condition)' -f -a \"("
                text += "larder status --json 2>/dev/null "
                text += "| string match -r -g '\\\"batch\\\":\\\"([^\\\"]*)\\\"' | sort -u)\"\n"
            }
        }
        return text
    }
}

extension [String] {
    /// Without repetitions, in order.
    fileprivate var unique: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
