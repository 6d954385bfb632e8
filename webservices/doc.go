// Package webservices is the service for games that ask over HTTP: mostly SOAP,
// on TCP port 80. It answers hosts such as mygame.auth.pubsvs.gamespy.com; the host, the path and
// the method in the body select the service. Package soap describes the messages.
//
// The services are in rooms, packages below this one that do not know each
// other: auth signs players in, sakefiles keeps files, motd announces
// patches. A room gives its methods (soap.Service) and
// paths of plain HTTP (soap.Page) to the table in rooms.go.
//
// A request for a host or a path that no room has is answered with 404, counted
// by the pattern of its host, and noted as a verdict on its address, so that an operator sees the
// requests of a game.
package webservices
