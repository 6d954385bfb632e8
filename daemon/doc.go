// Package daemon runs services: it opens their shared parts and their sockets,
// serves, reloads and stops.
//
// It knows no protocol. The services are the sections of the configuration that
// implement service.Service; each describes itself by a service.Descriptor.
package daemon
