package main

import (
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/apiserver"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/build"
)

// clusterOptions are the flags of serve for the API server.
type clusterOptions struct {
	kubeconfig string
	account    string
}

func (o *clusterOptions) add(fs *pflag.FlagSet) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "The kubeconfig file. Without it the service account is used.")
	fs.StringVar(&o.account, "service-account-directory", "/var/run/secrets/kubernetes.io/serviceaccount",
		"The directory with the token of the service account and ca.crt. Mount them elsewhere than here, where the "+
			"libraries of scalers look for them.")
}

func (o *clusterOptions) config() (*rest.Config, error) {
	if o.kubeconfig == "" {
		return apiserver.InCluster(o.account)
	}
	return clientcmd.BuildConfigFromFlags("", o.kubeconfig)
}

// scalerOptions are the flags of both commands.
type scalerOptions struct{ httpTimeout time.Duration }

func (o *scalerOptions) add(fs *pflag.FlagSet) {
	const defaultHTTPTimeout = 3 * time.Second
	fs.DurationVar(&o.httpTimeout, "http-timeout", defaultHTTPTimeout,
		"How long a server may take to respond to a scaler that has no timeout of its own, as KEDA_HTTP_DEFAULT_TIMEOUT.")
}

func (o *scalerOptions) validate() error {
	if o.httpTimeout <= 0 {
		return fmt.Errorf("--http-timeout: %s: must be greater than 0", o.httpTimeout)
	}
	return nil
}

// builder makes scalers with the cluster's objects, which it reads at the socket of the server.
func (o *scalerOptions) builder(apiSocket string, log logr.Logger) (*build.Builder, error) {
	token := os.Getenv(apiserver.TokenVariable)
	if err := os.Unsetenv(apiserver.TokenVariable); err != nil {
		return nil, err
	}
	config := apiserver.Client(apiSocket, token)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	objects, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &build.Builder{Client: objects, Clientset: clientset, HTTPTimeout: o.httpTimeout, Log: log}, nil
}

// newLog returns the log, which is KEDA's too.
func newLog() logr.Logger {
	log := zap.New()
	ctrl.SetLogger(log)
	return log
}
