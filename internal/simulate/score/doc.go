// Package score says how well a count of pods followed a load: what it cost, when it
// was too small, what that did to requests, and how restless it was. docs/simulate.md
// has the formulas and where they come from.
package score
