package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// shells has the shells with completion, and for each the command that loads it in new sessions.
var shells = map[string]string{
	"bash": `  # In this session; it needs the package bash-completion
  source <(plimsoll completion bash)

  # In all sessions
  plimsoll completion bash > /etc/bash_completion.d/plimsoll`,
	"zsh": `  # In this session; it needs compinit
  source <(plimsoll completion zsh)

  # In all sessions
  plimsoll completion zsh > "${fpath[1]}/_plimsoll"`,
	"fish": `  # In this session
  plimsoll completion fish | source

  # In all sessions
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish`,
	"powershell": `  # In this session
  plimsoll completion powershell | Out-String | Invoke-Expression

  # In all sessions
  plimsoll completion powershell >> $PROFILE`,
}

const completionLong = `Completion prints the script with which a shell completes commands, flags and names.

Use it once for your shell. Then the tab key completes the names of HPAs, WorkloadAutoscalers
and VerticalPodAutoscalers in the namespace of -n or of the kubeconfig, namespaces, contexts
and the values of flags. It reads the cluster with your permissions, for at most two seconds.

For kubectl plimsoll, kubectl runs a program kubectl_complete-plimsoll: link that name to this
program, in a folder of PATH. docs/reference/flags.md has the commands.`

const completionExample = `  # For bash, in this session
  source <(plimsoll completion bash)

  # For zsh, in all sessions
  plimsoll completion zsh > "${fpath[1]}/_plimsoll"

  # For kubectl plimsoll
  ln -s "$(command -v plimsoll)" ~/bin/kubectl_complete-plimsoll`

// printCompletion prints the script for the shell that the command is named after.
func printCompletion(cmd *cobra.Command, _ []string) error {
	noDescriptions, err := cmd.Flags().GetBool("no-descriptions")
	if err != nil {
		return err
	}
	root, out := cmd.Root(), cmd.OutOrStdout()
	switch name := cmd.Name(); {
	case name == "bash":
		return root.GenBashCompletionV2(out, !noDescriptions)
	case name == "zsh" && noDescriptions:
		return root.GenZshCompletionNoDesc(out)
	case name == "zsh":
		return root.GenZshCompletion(out)
	case name == "fish":
		return root.GenFishCompletion(out, !noDescriptions)
	case noDescriptions:
		return root.GenPowerShellCompletion(out)
	}
	return root.GenPowerShellCompletionWithDesc(out)
}

// addHelp gives the commands that cobra brings the same help as the others.
func addHelp(root *cobra.Command) {
	root.SetHelpCommandGroupID(otherGroup)
	root.SetCompletionCommandGroupID(otherGroup)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, each := range root.Commands() {
		switch each.Name() {
		case "help":
			each.Short = "Print the help of a command"
			each.Long = "Help prints the help of a command.\n\nUse it as you would use the flag --help."
			each.Example = "  plimsoll help explain"
		case "completion":
			each.Short = "Print the script by which a shell completes commands and names"
			each.Long, each.Example = completionLong, completionExample
			// Otherwise the name of another shell is none to cobra.
			each.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range each.Commands() {
				shell.Short = fmt.Sprintf("Print the completion script for %s", shell.Name())
				shell.Long = fmt.Sprintf("%s prints the completion script for %[1]s.\n\nUse it once, in the form that "+
					"you need.", shell.Name())
				shell.Example = shells[shell.Name()]
				shell.RunE = printCompletion
			}
		}
	}
}
