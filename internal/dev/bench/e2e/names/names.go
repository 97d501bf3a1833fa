// Package names answers pods' questions for the addresses of Services, as a cluster's DNS does, and no others.
package names

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Domain is the cluster's.
const Domain = "cluster.local"

// ttlSeconds is short: a test's Services come and go.
const ttlSeconds = 5

// questionBytes is the most that DNS allows in a datagram without extensions.
const questionBytes = 512

// Server answers at one address until it is closed.
type Server struct {
	connection net.PacketConn
	lookup     func(namespace, name string) (address string, exists bool)
	stop       context.CancelFunc
	done       chan struct{}
}

// Serve starts serving at host:port, once the list of Services is complete.
func Serve(ctx context.Context, address string, client kubernetes.Interface) (*Server, error) {
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	factory := informers.NewSharedInformerFactory(client, 0)
	services := factory.Core().V1().Services()
	synced := services.Informer().HasSynced
	factory.Start(watching.Done())
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if !cache.WaitForCacheSync(waiting.Done(), synced) {
		stop()
		return nil, errors.New("name server: the Services cannot be listed")
	}
	var config net.ListenConfig
	connection, err := config.ListenPacket(ctx, "udp4", address)
	if err != nil {
		stop()
		return nil, fmt.Errorf("name server: %w", err)
	}
	s := &Server{connection: connection, stop: stop, done: make(chan struct{}),
		lookup: func(namespace, name string) (string, bool) {
			service, err := services.Lister().Services(namespace).Get(name)
			if err != nil || service.Spec.ClusterIP == corev1.ClusterIPNone {
				return "", false
			}
			return service.Spec.ClusterIP, true
		}}
	go s.run()
	return s, nil
}

// Close ends the server.
func (s *Server) Close() error {
	s.stop()
	err := s.connection.Close()
	<-s.done
	if err != nil {
		return fmt.Errorf("name server: %w", err)
	}
	return nil
}

func (s *Server) run() {
	defer close(s.done)
	buffer := make([]byte, questionBytes)
	for {
		n, from, err := s.connection.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		if answer, err := respond(buffer[:n], s.lookup); err == nil {
			// The client repeats a lost query.
			_, _ = s.connection.WriteTo(answer, from)
		}
	}
}

// respond responds to the first question of a message: resolvers send no more.
func respond(message []byte, lookup func(namespace, name string) (string, bool)) ([]byte, error) {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	question, err := parser.Question()
	if err != nil {
		return nil, fmt.Errorf("question: %w", err)
	}
	address, exists := resolve(question.Name.String(), lookup)
	answer := dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: header.ID, Response: true, Authoritative: true,
			RecursionDesired: header.RecursionDesired, RecursionAvailable: true,
		},
		Questions: []dnsmessage.Question{question},
	}
	switch {
	case !exists:
		answer.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		answer.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class, TTL: ttlSeconds},
			Body:   &dnsmessage.AResource{A: address.As4()},
		}}
	}
	packed, err := answer.Pack()
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return packed, nil
}

// resolve reads NAME.NAMESPACE.svc.cluster.local., in any case.
func resolve(name string, lookup func(namespace, name string) (string, bool)) (address netip.Addr, exists bool) {
	of, found := strings.CutSuffix(strings.ToLower(name), ".svc."+Domain+".")
	if !found {
		return netip.Addr{}, false
	}
	service, namespace, found := strings.Cut(of, ".")
	if !found || strings.Contains(namespace, ".") {
		return netip.Addr{}, false
	}
	text, exists := lookup(namespace, service)
	if !exists {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddr(text)
	return address, err == nil && address.Is4()
}
