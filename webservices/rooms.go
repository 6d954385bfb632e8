package webservices

import "github.com/respawnd/respawnd/webservices/soap"

// room is what one of the packages below serves.
type room struct {
	services []soap.Service
	pages    []soap.Page
}

// rooms returns the rooms, made from the options of the server.
func rooms(*Options) ([]room, error) {
	return []room{}, nil
}

// requestNames returns the names of all requests that rooms answer, for metrics:
// those of methods and of pages.
func requestNames(rooms []room) (names []string) {
	for _, room := range rooms {
		for _, s := range room.services {
			for method := range s.Methods {
				names = append(names, s.Name+"."+method)
			}
		}
		for _, p := range room.pages {
			names = append(names, p.Name)
		}
	}
	return names
}
