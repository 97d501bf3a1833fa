// Package upgrade tests on a real API server that the objects of clusters outlive an upgrade of their
// CustomResourceDefinitions.
package upgrade
