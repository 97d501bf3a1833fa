package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// source is one metrics API with its slots.
type source struct {
	name    string
	client  rest.Interface
	decoder runtime.Decoder
	slots   chan struct{}
	timeout time.Duration
}

// get waits for a slot, makes the call and decodes the answer. The one deadline
// covers all of it: where calls hang, those who queue behind them learn so in
// time and do not queue forever.
func (s *source) get(ctx context.Context, request *rest.Request, into runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, err := s.fetch(ctx, request)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("the %s did not answer within %s: %w", s.name, s.timeout, context.DeadlineExceeded)
	}
	if err != nil {
		return err
	}
	return s.decode(body, into)
}

func (s *source) fetch(ctx context.Context, request *rest.Request) ([]byte, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
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

// decode reads the answer into the one type that was asked for: another kind,
// or a text that is none, is an error of this metric and never an empty list.
func (s *source) decode(body []byte, into runtime.Object) error {
	got, kind, err := s.decoder.Decode(body, nil, into)
	if err != nil {
		return fmt.Errorf("the answer of the %s cannot be read: %w", s.name, err)
	}
	if got != into {
		return fmt.Errorf("the %s answered with %s instead of a %T", s.name, kind, into)
	}
	return nil
}

// builder makes sources and remembers the first error.
type builder struct {
	config Config
	codecs serializer.CodecFactory
	err    error
}

func (b *builder) source(name string, version schema.GroupVersion) *source {
	return &source{
		name:    name,
		client:  b.rest(version),
		decoder: b.codecs.UniversalDeserializer(),
		slots:   make(chan struct{}, b.config.Slots),
		timeout: b.config.Timeout,
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

// bounded ends answers, also those of errors, that are larger than allowed.
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
