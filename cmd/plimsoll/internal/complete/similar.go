package complete

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/kube/names"
)

// similarPatience is the longest time that an error waits for similar names.
const similarPatience = 2 * time.Second

// mostOffered is the number of names that an error offers if none is similar.
const mostOffered = 5

// Similar adds to an error about an object that was not found which objects of its namespace may have been meant. Any
// other error stays as it is, and so does this one if the names cannot be read.
func Similar(ctx context.Context, config *rest.Config, err error) error {
	var found *cmderror.Error
	if !errors.As(err, &found) || found.Missing == nil {
		return err
	}
	kind, ok := names.Of(found.Missing.Resource)
	if !ok {
		return err
	}
	all, readErr := names.List(ctx, config, names.Query{Kind: kind, Namespace: found.Missing.Namespace,
		Timeout: similarPatience})
	if readErr != nil {
		return err
	}
	place := "namespace " + found.Missing.Namespace
	near := cmderror.Nearest(found.Missing.Name, all)
	switch {
	case len(all) == 0:
		found.Why = fmt.Sprintf("%s has no %s at all", place, found.Missing.Resource)
		found.Next = fmt.Sprintf("name another namespace with -n: kubectl get %s -A", found.Missing.Resource)
	case len(near) > 0:
		found.Next = cmderror.DidYouMean(near) + " " + found.Next
	case len(all) <= mostOffered:
		found.Why = fmt.Sprintf("%s has only %s", place, strings.Join(all, ", "))
	}
	return err
}
