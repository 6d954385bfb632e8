// Package webservices is the service for games that ask over HTTP: mostly SOAP,
// on TCP port 80. It answers hosts such as mygame.auth.pubsvs.gamespy.com; the host, the path and
// the method in the body select the service. Package soap describes the messages.
//
// Each service is a Backend in a package below this one: auth signs players in,
// sakefiles keeps files, motd announces patches. Backends do not know each other. A
// backend gives its methods (soap.Service) and paths of plain HTTP (soap.Page) to the
// table in backends.go.
//
// A request for a host or a path that no backend has is answered with 404, counted
// by the pattern of its host, and noted as a verdict on its address, so that an operator sees the
// requests of a game.
package webservices
