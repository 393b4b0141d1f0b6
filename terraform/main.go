// The Terraform provider of Switchyard, as the program that Terraform starts.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"terraform-provider-switchyard/provider"
)

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger, and say how Terraform reaches this process")
	flag.Parse()
	options := providerserver.ServeOpts{Address: "terraform.local/switchyard/switchyard", Debug: *debug}
	if err := providerserver.Serve(context.Background(), provider.New, options); err != nil {
		log.Fatal(err)
	}
}
