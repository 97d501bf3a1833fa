package scaling

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here.
var shared harness.Shared

func TestMain(m *testing.M) { shared.Main(m) }
