// Package explain says why an autoscaler does what it does, and what it will do
// next: for the objects of any cluster, whichever controller decides on them.
package explain
