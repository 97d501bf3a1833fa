package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is how many objects are requested at once, maxPages how many pages are read of one kind.
	pageSize = 500
	maxPages = 100
	// maxBytes bounds each answer. The samples of 100,000 pods with two containers and ten labels each, which come in
	// one, have about a third of that.
	maxBytes = 256 << 20
)

// api requests JSON from the API server. Answers with objects whose quantities the API server does not check, those of
// CustomResourceDefinitions and of the metrics APIs, are decoded into types without these.
type api struct {
	client *http.Client
	base   *url.URL
}

func newAPI(config *rest.Config) (*api, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &api{client: client, base: base}, nil
}

// answer is one of the API server.
type answer struct {
	header http.Header
	body   []byte
	// sent and received are the times of the request and of the head of the answer, on this machine.
	sent, received time.Time
}

func (a *api) do(ctx context.Context, method, path string, query url.Values, body []byte) (*answer, error) {
	at := a.base.JoinPath(path)
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json, */*")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	sent := time.Now()
	response, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	read := &answer{header: response.Header, sent: sent, received: time.Now()}
	read.body, err = io.ReadAll(io.LimitReader(response.Body, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(read.body) > maxBytes:
		return nil, fmt.Errorf("the answer to %s has more than %d MiB", path, maxBytes>>20)
	case response.StatusCode < 200 || response.StatusCode > 299:
		return nil, statusError(response.StatusCode, read.body)
	}
	return read, nil
}

// statusError is the error of the API server, or of a proxy before it.
func statusError(code int, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	const shown = 200
	text := string(body[:min(len(body), shown)])
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", text, 0, true)
}

func (a *api) get(ctx context.Context, path string, query url.Values, into any) error {
	read, err := a.do(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(read.body, into)
}

// create posts an object that the API server answers and does not store, such as a review of access.
func (a *api) create(ctx context.Context, path string, object, into any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	read, err := a.do(ctx, http.MethodPost, path, nil, body)
	if err != nil {
		return err
	}
	return json.Unmarshal(read.body, into)
}

// errTooMany says that a kind has more objects than are read.
var errTooMany = errors.New("there are more than 50,000 objects")

// list visits the objects of a list, page by page.
func list[T any](ctx context.Context, a *api, path string, query url.Values, visit func(*T)) error {
	asked := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for key, values := range query {
		asked[key] = values
	}
	for range maxPages {
		var page struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []T `json:"items"`
		}
		if err := a.get(ctx, path, asked, &page); err != nil {
			return err
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			return nil
		}
		asked.Set("continue", page.Metadata.Continue)
	}
	return errTooMany
}
