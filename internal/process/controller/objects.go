package controller

import (
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

func newWorkloadAutoscalers(config *rest.Config, log logr.Logger) (*workloads.Cache, error) {
	client, err := wla.New(config)
	if err != nil {
		return nil, err
	}
	return workloads.New(client, metav1.NamespaceAll, log), nil
}

func newCheckpoints(config *rest.Config) (*checkpoints.Client, error) { return checkpoints.New(config) }
