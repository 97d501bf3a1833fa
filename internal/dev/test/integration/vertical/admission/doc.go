// Package admission tests plimsoll admission-controller as a process beside a real API server: as the service account
// of config/ and with no more rights than config/ grants, registered by URL, since nothing here resolves Services.
package admission
