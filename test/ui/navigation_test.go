//go:build ui

package ui

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// slow answers about one object when the request ends.
type slow struct{ *madeUp }

func (s slow) Object(ctx context.Context, _, _, _ string, _ time.Duration) (*view.Object, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestNavigation: who waits for an object can go back, an address that is no link of the page does not stop it, and Escape
// leaves a field before it leaves the object.
func TestNavigation(t *testing.T) {
	cluster := &madeUp{rows: rowsOf(10), revision: 1}
	p, _ := serve(t, slow{cluster})
	p.waitForRows()
	value[string](p, `location.hash = "#/object/%"`)
	value[string](p, `location.hash = "#/object/HorizontalPodAutoscaler/shop/none"`)
	p.waitFor("the object's place", `!document.querySelector("#object").hidden`)
	value[string](p, `location.hash = "#/"`)
	p.waitFor("the overview", `!document.querySelector("#overview").hidden`)
	value[string](p, `location.hash = "#/object/HorizontalPodAutoscaler/shop/none"`)
	p.waitFor("the object's place", `!document.querySelector("#object").hidden`)
	value[bool](p, `document.querySelector("#object select").focus(), true`)
	p.do(chromedp.KeyEvent(kb.Escape))
	if hash := value[string](p, "location.hash"); hash == "#/" {
		t.Error("Escape in a field leaves the object")
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.waitFor("the overview", `!document.querySelector("#overview").hidden`)
}
