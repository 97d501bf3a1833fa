// Package nodeagent is the command plimsoll node-agent.
package nodeagent

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/process/nodeagent"
)

// Flags has the flags of plimsoll node-agent.
type Flags struct {
	common flags.Common
	config nodeagent.Config
}

// Add adds the flags.
func (f *Flags) Add(fs *pflag.FlagSet) {
	c := &f.config
	fs.StringVar(&c.Address, "listen-address", ":8443", "The address at which the agent serves the controller.")
	fs.StringVar(&c.Cgroups.Directory, "cgroup-directory", "/sys/fs/cgroup",
		"The mount point of the node's cgroups, version 1 or 2.")
	fs.StringVar(&c.Cgroups.KubeletRoot, "kubelet-cgroup-root", "", "The kubelet's --cgroup-root, if it has one.")
	fs.StringVar(&c.AuthorityFile, "client-ca-file", "/etc/plimsoll/authority/ca.crt",
		"Path to the CA of client certificates, reloaded when it changes. The controller keeps it in a ConfigMap.")
	fs.StringVar(&c.TokenFile, "token-file", "/var/run/secrets/plimsoll/token",
		"Path to a token of the agent's pod for the audience node-agent.plimsoll.dev. It proves to the controller which "+
			"node the agent runs on.")
	f.common.AddVerbosity(fs, "Verbosity of the log: 1 logs each container that cannot be read.")
	f.common.AddLogFormat(fs)
}

// Complete returns an error about each flag with an invalid value.
func (f *Flags) Complete() error {
	var errs flags.Errors
	c := &f.config
	errs.Check(c.Address != "", "listen-address", c.Address, "must be an address")
	errs.Check(c.Cgroups.Directory != "", "cgroup-directory", c.Cgroups.Directory, "must be a path")
	errs.Check(c.AuthorityFile != "", "client-ca-file", c.AuthorityFile, "must be a path")
	errs.Check(c.TokenFile != "", "token-file", c.TokenFile, "must be a path")
	f.common.Validate(errs.Check)
	return errs.Join()
}

// Config returns the agent's configuration from the flags.
func (f *Flags) Config() *nodeagent.Config { return &f.config }

// Command is plimsoll node-agent.
func Command() *cobra.Command {
	f := &Flags{}
	cmd := &cobra.Command{
		Use:   "node-agent",
		Short: "Run the agent of a node, which serves the usage of its containers",
		Long: `Node-agent serves the usage of the containers of its node to the controller, from their cgroups.

Use it through config/node-agent, a DaemonSet, where the samples of kubelets are too late or too rare.
The controller reads it four times a second. It calls no API.`,
		Example: `  # As config/node-agent runs it
  plimsoll node-agent --cgroup-directory=/sys/fs/cgroup --listen-address=:8443`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.Complete(); err != nil {
				return err
			}
			return nodeagent.Run(cmd.Context(), f.Config(), f.common.Logger(cmd.ErrOrStderr()))
		},
	}
	f.Add(cmd.Flags())
	return cmd
}
