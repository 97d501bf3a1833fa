// Package shell writes commands that a POSIX shell runs as they are meant.
package shell

import "strings"

// Word is a word as a shell takes it.
func Word(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// InContext has a command of kubectl name the kubeconfig's context: pasted in another terminal, it would otherwise go
// to the cluster that is current there. Other commands, and all without a context, stay as they are.
func InContext(command, context string) string {
	rest, isKubectl := strings.CutPrefix(command, "kubectl ")
	if !isKubectl || context == "" {
		return command
	}
	return "kubectl " + Word("--context="+context) + " " + rest
}
