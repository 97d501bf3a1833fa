package pki

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// WriteKubeconfig issues a client certificate and writes a kubeconfig that uses it; it returns the file's path.
func (p *Files) WriteKubeconfig(server, user string, groups ...string) (string, error) {
	id, err := p.ca.client(user, groups...)
	if err != nil {
		return "", err
	}
	const name = "plimsoll-devcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: p.ca.certPEM}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificateData: id.certPEM, ClientKeyData: id.keyPEM}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	path := filepath.Join(p.dir, "..", user+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", fmt.Errorf("kubeconfig of %s: %w", user, err)
	}
	return filepath.Clean(path), nil
}

// RESTConfig is the administrator's, without client-side rate limits: tests and the demo are not to measure those.
func (p *Files) RESTConfig(server string) (*rest.Config, error) {
	id, err := p.ca.client("plimsoll-devcluster-admin", "system:masters")
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            server,
		TLSClientConfig: rest.TLSClientConfig{CAData: p.ca.certPEM, CertData: id.certPEM, KeyData: id.keyPEM},
		QPS:             1000, Burst: 2000,
	}, nil
}
