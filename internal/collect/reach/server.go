package reach

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Server is a server that the operator permits.
type Server struct {
	// Host is an address in its shortest form, or a name in lower case. The name of a Service of the cluster ends in svc.
	Host string
	Port uint16
	// Namespaces has the namespaces whose objects may use it; empty means all.
	Namespaces []string
}

// String formats the server for ParseServer.
func (s Server) String() string {
	text := net.JoinHostPort(s.Host, strconv.Itoa(int(s.Port)))
	if len(s.Namespaces) > 0 {
		text += "=" + strings.Join(s.Namespaces, ",")
	}
	return text
}

// ParseServer reads HOST:PORT or HOST:PORT=NAMESPACE[,NAMESPACE...]. A name must have a dot: one
// without it means a Service of each object's own namespace.
func ParseServer(text string) (Server, error) {
	server, namespaces, isRestricted := strings.Cut(text, "=")
	host, portText, err := net.SplitHostPort(server)
	if err != nil {
		return Server{}, fmt.Errorf("%q is not HOST:PORT or HOST:PORT=NAMESPACE,...: %w", text, err)
	}
	s := Server{}
	if s.Port, err = parsePort(portText); err != nil {
		return Server{}, fmt.Errorf("%q: %w", text, err)
	}
	var address netip.Addr
	if s.Host, address, err = parseHost(host); err != nil {
		return Server{}, fmt.Errorf("%q: %w", text, err)
	}
	if !address.IsValid() && !strings.Contains(s.Host, ".") {
		return Server{}, fmt.Errorf("%q: a name without a dot is a Service of each object's own namespace, "+
			"which needs no permission", text)
	}
	if !isRestricted {
		return s, nil
	}
	for namespace := range strings.SplitSeq(namespaces, ",") {
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			return Server{}, fmt.Errorf("%q: %q is not the name of a namespace", text, namespace)
		}
		if !slices.Contains(s.Namespaces, namespace) {
			s.Namespaces = append(s.Namespaces, namespace)
		}
	}
	return s, nil
}

// Route is the way to find the address of a server. Exactly one of its fields is set.
type Route struct {
	// Service is the name of a Service of the object's own namespace.
	Service string
	// Address is the address of a server that is permitted by its address.
	Address netip.Addr
	// Name is the DNS name of a server that is permitted by its name.
	Name string
}

// CheckServer returns the route to a server for objects of the namespace, or an error if they may not use it. It does
// not query DNS.
func (r *Rules) CheckServer(namespace, host string, port uint16) (Route, error) {
	host, address, err := parseHost(host)
	if err != nil {
		return Route{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if port == 0 {
		return Route{}, fmt.Errorf("%w: port 0", ErrRefused)
	}
	if r.isPermitted(namespace, host, port) {
		if address.IsValid() {
			return Route{Address: address}, nil
		}
		return Route{Name: host}, nil
	}
	if service, has := serviceOf(namespace, host); has {
		return Route{Service: service}, nil
	}
	return Route{}, fmt.Errorf("%w: %s is not a Service of namespace %s, and --metric-server does not permit it",
		ErrRefused, net.JoinHostPort(host, strconv.Itoa(int(port))), namespace)
}

func (r *Rules) isPermitted(namespace, host string, port uint16) bool {
	return slices.ContainsFunc(r.Servers, func(s Server) bool {
		return s.Host == host && s.Port == port &&
			(len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace))
	})
}

// serviceOf returns the Service that the name denotes: NAME, NAME.NAMESPACE, NAME.NAMESPACE.svc or
// NAME.NAMESPACE.svc.cluster.local, with the object's namespace.
func serviceOf(namespace, host string) (service string, has bool) {
	service, rest, isQualified := strings.Cut(host, ".")
	if len(validation.IsDNS1123Label(service)) > 0 || namespace == "" {
		return "", false
	}
	if !isQualified {
		return service, true
	}
	switch rest {
	case namespace, namespace + ".svc":
		return service, true
	}
	return "", false
}

var errHost = errors.New("not the name of a host or an address")

// parseHost returns the host in its canonical form, and its address if it is one.
func parseHost(text string) (host string, address netip.Addr, err error) {
	if address, err = netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return "", netip.Addr{}, errors.New("an address with a zone")
		}
		address = address.Unmap()
		if name := nameOf(never, address); name != "" {
			return "", netip.Addr{}, fmt.Errorf("%s is %s", address, name)
		}
		return address.String(), address, nil
	}
	host = strings.ToLower(text)
	if len(validation.IsDNS1123Subdomain(host)) > 0 || endsInNumber(host) {
		// The error omits the text, which may be long, or have control characters.
		return "", netip.Addr{}, errHost
	}
	if service, isService := strings.CutSuffix(host, ".svc."+DefaultClusterDomain); isService {
		host = service + ".svc"
	}
	return host, netip.Addr{}, nil
}

// DefaultClusterDomain is the domain of Services in DNS in most clusters.
const DefaultClusterDomain = "cluster.local"

// IsDomain reports whether the text can be the domain of a cluster.
func IsDomain(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// endsInNumber reports whether a resolver could read the name as an IPv4 address in another form: 0177.0.0.1, 127.1 or
// 0x7f.1.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, isHex := strings.CutPrefix(last, "0x"); isHex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("the port must be 1 to 65535")
	}
	return uint16(port), nil
}
