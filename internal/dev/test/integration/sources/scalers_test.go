package sources

import (
	"context"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/scaler"
)

// keda is the external scaler of all tests. It ends with the process.
var keda = startScaler()

func startScaler() *scaler.Server {
	server, err := scaler.Serve(context.Background(), scaler.Config{})
	if err != nil {
		panic(err)
	}
	return server
}
