// Command pause is the first process of a sandbox: it keeps the pod's namespaces and does nothing until it gets a
// signal.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
