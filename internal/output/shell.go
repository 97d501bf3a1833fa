package output

import "strings"

// ShellQuote is a word as it is typed in a shell: in quotes, unless it has only plain characters.
func ShellQuote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// flagsOfHelm are the names that Helm has for flags of kubectl. It has none for --cluster and --user, and fails on
// them.
var flagsOfHelm = strings.NewReplacer("--context=", "--kube-context=", "--server=", "--kube-apiserver=")

// CommandToCluster has a command name the cluster by these flags of kubectl: pasted in another terminal, it would
// otherwise go to the cluster that is current there. Commands that go to no cluster stay as they are.
func CommandToCluster(command string, flags []string) string {
	program, rest, _ := strings.Cut(command, " ")
	isHelm := program == "helm"
	if !isHelm && program != "kubectl" && program != "plimsoll" {
		return command
	}
	words := []string{program}
	for _, flag := range flags {
		if isHelm {
			flag = flagsOfHelm.Replace(flag)
		}
		words = append(words, ShellQuote(flag))
	}
	if program == "plimsoll" {
		// Its flags belong to its subcommands.
		subcommand, others, _ := strings.Cut(rest, " ")
		words, rest = append([]string{program, subcommand}, words[1:]...), others
	}
	return strings.TrimSpace(strings.Join(append(words, rest), " "))
}
