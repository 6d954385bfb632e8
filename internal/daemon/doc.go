// Package daemon runs services: it opens what they share and their sockets, serves,
// reloads and stops.
//
// It knows no protocol. Which services there are, it learns from the sections of
// the configuration that are a service.Service; what it has to know of one, from
// its service.Descriptor.
package daemon
