package metricsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// source is one metrics API with its slots.
type source struct {
	name    string
	client  rest.Interface
	decoder runtime.Decoder
	slots   *slots
}

// get makes a call in a slot, and decodes the response.
func (s *source) get(ctx context.Context, request *rest.Request, into runtime.Object) error {
	body, err := s.request(ctx, request.URL().String(), func(ctx context.Context) ([]byte, error) {
		return s.fetch(ctx, request)
	})
	if err != nil {
		return err
	}
	return s.decode(body, into)
}

// request waits for a slot, and calls fetch with the timeout. call identifies the request.
func (s *source) request(
	ctx context.Context, call string, fetch func(context.Context) ([]byte, error),
) (body []byte, err error) {
	err = s.slots.run(ctx, call, func(ctx context.Context) error {
		body, err = fetch(ctx)
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("the %s did not answer within %s: %w", s.name, s.slots.timeout, context.DeadlineExceeded)
	}
	return body, err
}

func (s *source) fetch(ctx context.Context, request *rest.Request) ([]byte, error) {
	stream, err := request.MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(stream)
	if closeErr := stream.Close(); err == nil && closeErr != nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the %s: %w", s.name, err)
	}
	return body, nil
}

// decode decodes the response into the one expected type: any other kind, or a text without one, is an error of this
// metric and never an empty list.
//
// A quantity that would take hours to parse is an error too: without it the sum of the series would be too small. Only
// in a list of pods, any of which may be missing, the other items are decoded.
func (s *source) decode(body []byte, into runtime.Object) error {
	if err := quantity.Check(body, into); err != nil {
		pods, isPods := into.(*metricsv1beta1.PodMetricsList)
		if !isPods {
			return fmt.Errorf("the answer of the %s cannot be read: %w", s.name, err)
		}
		return s.decodeEach(body, pods)
	}
	got, kind, err := s.decoder.Decode(body, nil, into)
	if err != nil {
		return fmt.Errorf("the answer of the %s cannot be read: %w", s.name, err)
	}
	if got != into {
		return fmt.Errorf("the %s answered with %s instead of a %T", s.name, kind, into)
	}
	return nil
}

// decodeEach decodes the pods whose quantities can be parsed.
func (s *source) decodeEach(body []byte, into *metricsv1beta1.PodMetricsList) error {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}
	err := json.Unmarshal(body, &list)
	if err == nil && list.Kind != "PodMetricsList" {
		err = fmt.Errorf("it is a %q", list.Kind)
	}
	if err != nil {
		return fmt.Errorf("the answer of the %s cannot be read: %w", s.name, err)
	}
	into.TypeMeta, into.ListMeta, into.Items = list.TypeMeta, list.ListMeta, nil
	for _, text := range list.Items {
		item := metricsv1beta1.PodMetrics{}
		if quantity.Check(text, &item) == nil && json.Unmarshal(text, &item) == nil {
			into.Items = append(into.Items, item)
		}
	}
	return nil
}

// builder makes sources and keeps the first error.
type builder struct {
	config Config
	codecs serializer.CodecFactory
	loads  *loads
	err    error
}

func (b *builder) source(name string, version schema.GroupVersion) *source {
	// A codec factory's UniversalDeserializer also accepts YAML and protobuf, whose quantities are not checked.
	inJSON, _ := runtime.SerializerInfoForMediaType(b.codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	return &source{
		name:    name,
		client:  b.rest(version),
		decoder: inJSON.Serializer,
		slots:   newSlots(b.config.Slots, b.config.Timeout, b.loads.of(version.Group, &b.config)),
	}
}

func (b *builder) rest(version schema.GroupVersion) rest.Interface {
	cfg := rest.CopyConfig(b.config.Rest)
	cfg.APIPath = "/apis"
	cfg.GroupVersion = &version
	cfg.NegotiatedSerializer = b.codecs.WithoutConversion()
	cfg.ContentType = runtime.ContentTypeJSON
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &bounded{next: next, maxBytes: b.config.MaxResponseBytes}
	})
	client, err := rest.RESTClientFor(cfg)
	if err != nil && b.err == nil {
		b.err = err
	}
	return client
}

// bounded cuts off responses, and those of errors, above the maximum size.
type bounded struct {
	next     http.RoundTripper
	maxBytes int64
}

var _ http.RoundTripper = (*bounded)(nil)

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err != nil || response.Body == nil {
		return response, err
	}
	response.Body = &boundedBody{ReadCloser: response.Body, left: b.maxBytes, maxBytes: b.maxBytes}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left, maxBytes int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, fmt.Errorf("answer larger than %d bytes", b.maxBytes)
	}
	return n, err
}
