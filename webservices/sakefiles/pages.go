package sakefiles

import "github.com/respawnd/respawnd/webservices/soap"

// Pages returns the paths of the backend.
func (r *Backend) Pages() []soap.Page {
	hosts := []string{"{g}.sake.{d}", "{g}.secure.sake.{d}", "sake.{d}", "secure.sake.{d}", soap.APIHost}
	return []soap.Page{
		{Name: "sakefiles.upload", Hosts: hosts, Path: "/SakeFileServer/upload.aspx", Serve: r.upload, MaxBody: maxForm},
		{Name: "sakefiles.download", Hosts: hosts, Path: "/SakeFileServer/download.aspx", Serve: r.download},
	}
}
