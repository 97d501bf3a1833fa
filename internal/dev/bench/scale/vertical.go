package scale

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// verticalClient installs the definitions of VerticalPodAutoscalers where some are wanted, and returns a client of
// them; otherwise nil.
func (b *bench) verticalClient(ctx context.Context) (rest.Interface, error) {
	if b.VerticalObjects == 0 {
		return nil, nil
	}
	if err := b.cluster.InstallDefinitions(ctx); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := vpav1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("client of VerticalPodAutoscalers: %w", err)
	}
	config, group := b.cluster.RESTConfig(), vpav1.SchemeGroupVersion
	config.QPS, config.GroupVersion, config.APIPath = -1, &group, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of VerticalPodAutoscalers: %w", err)
	}
	return client, nil
}
