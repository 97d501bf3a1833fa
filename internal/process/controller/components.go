package controller

import "slices"

// The components that one process can run.
const (
	Horizontal  = "horizontal"
	Recommender = "recommender"
	Updater     = "updater"
)

// Components are all of them, in the order in which they are listed.
func Components() []string { return []string{Horizontal, Recommender, Updater} }

func (c *Config) runs(component string) bool { return slices.Contains(c.Components, component) }

// runsVertical reports whether a component of the vertical side runs in this process.
func (c *Config) runsVertical() bool { return c.runs(Recommender) || c.runs(Updater) }

// LeaseName returns the Lease of processes that run these components, unless a flag names another. Processes with
// different components have different Leases, so that each set has a leader.
func LeaseName(components []string) string {
	for _, component := range []string{Recommender, Updater} {
		if !slices.Contains(components, Horizontal) && slices.Contains(components, component) {
			return "plimsoll-" + component
		}
	}
	return DefaultLeaseName
}
