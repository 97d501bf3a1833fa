package devcluster

// Versions of the parts, as tools/controlplane/go.mod pins them (a test compares).
const (
	KubernetesVersion    = "v1.37.1"
	KWOKVersion          = "v0.8.0"
	MetricsServerVersion = "v0.9.0"
)
