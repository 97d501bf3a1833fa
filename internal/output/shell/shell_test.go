package shell

import "testing"

// TestInContext: a command that is pasted elsewhere goes to the cluster that was looked at.
func TestInContext(t *testing.T) {
	const patch = "kubectl patch hpa web"
	for _, tt := range []struct{ command, context, want string }{
		{patch, "", patch},
		{patch, "kind-shop", "kubectl --context=kind-shop patch hpa web"},
		{patch, "it's; rm", `kubectl '--context=it'\''s; rm' patch hpa web`},
		{"plimsoll simulate web.yaml", "kind-shop", "plimsoll simulate web.yaml"},
		{"", "kind-shop", ""},
	} {
		if got := InContext(tt.command, tt.context); got != tt.want {
			t.Errorf("%q in %q: %s, want %s", tt.command, tt.context, got, tt.want)
		}
	}
}
