package webhook

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// patch is a JSON patch (RFC 6902).
type patch []operation

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func containerPath(i int) string { return "/spec/containers/" + strconv.Itoa(i) }

func (p *patch) add(path string, value any) {
	*p = append(*p, operation{Op: "add", Path: path, Value: value})
}

func (p *patch) annotate(name, value string) {
	p.add("/metadata/annotations/"+escape.Replace(name), value)
}

// set sets amounts in a list that may not be there yet.
func (p *patch) set(path string, isNew bool, amounts vertical.Amounts) {
	if amounts.IsEmpty() {
		return
	}
	if isNew {
		p.add(path, corev1.ResourceList{})
	}
	for r := range vertical.Resource(vertical.Resources) {
		if _, has := amounts.Get(r); has {
			p.add(path+"/"+r.String(), observevertical.QuantityOf(r, amounts).String())
		}
	}
}
