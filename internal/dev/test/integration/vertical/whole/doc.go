// Package whole tests the three vertical parts together on a real API server: what is recommended reaches the pods of a
// Deployment in each update mode, over restarts of Plimsoll in the middle.
package whole
