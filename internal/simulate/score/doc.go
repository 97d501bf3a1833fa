// Package score measures how well a replica count followed a load: its cost, when
// it was too small, what that did to requests, and how often it changed.
// docs/reference/simulation.md has the formulas and their sources.
package score
