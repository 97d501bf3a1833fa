package process

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// API configures the connection to the API server.
type API struct {
	// Kubeconfig is the path to a file; without it, the pod's service account is used.
	Kubeconfig string
	// QPS is 0 for no limit on this side.
	QPS   float32
	Burst int
}

// RESTConfig returns the configuration of clients.
func (a *API) RESTConfig(userAgent string) (*rest.Config, error) {
	var config *rest.Config
	var err error
	if a.Kubeconfig != "" {
		config, err = clientcmd.BuildConfigFromFlags("", a.Kubeconfig)
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig=%s: %w", a.Kubeconfig, err)
	}
	config.UserAgent = userAgent
	// Below zero is client-go's word for no limit.
	config.QPS, config.Burst = -1, 0
	if a.QPS > 0 {
		config.QPS, config.Burst = a.QPS, a.Burst
	}
	return config, nil
}
