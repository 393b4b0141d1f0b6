// Package provider is Switchyard for Terraform: its configuration, and a resource for each entry of resources.json.
package provider

import (
	"context"
	"net/http"
	"net/url"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type switchyard struct {
	description *Description
}

// New makes the provider; Terraform calls it through providerserver.
func New() provider.Provider {
	return &switchyard{description: describe()}
}

type configuration struct {
	URL       types.String `tfsdk:"url"`
	Key       types.String `tfsdk:"key"`
	Workspace types.String `tfsdk:"workspace"`
}

const (
	urlText       = "Where the server is, such as `https://switchyard.example`. Default: `SWITCHYARD_URL`."
	keyText       = "An API key with the scope `admin`. Default: `SWITCHYARD_KEY`."
	workspaceText = "A name for this state, such as `platform-prod`, that no other state of the same project has. An apply " +
		"that was cut is recognised by it when it is run again. Default: `SWITCHYARD_WORKSPACE`."
)

func (s *switchyard) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName, resp.Version = "switchyard", s.description.Version
}

func (s *switchyard) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Switchyard: projects, keys, aliases, clusters, budgets, channels and providers, as code.",
		Attributes: map[string]schema.Attribute{
			"url":       schema.StringAttribute{Optional: true, MarkdownDescription: urlText},
			"key":       schema.StringAttribute{Optional: true, Sensitive: true, MarkdownDescription: keyText},
			"workspace": schema.StringAttribute{Optional: true, MarkdownDescription: workspaceText},
		},
	}
}

func (s *switchyard) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var given configuration
	resp.Diagnostics.Append(req.Config.Get(ctx, &given)...)
	if resp.Diagnostics.HasError() {
		return
	}
	client := &Client{version: s.description.Version, http: &http.Client{}, claimed: map[string]bool{}}
	settings := []struct {
		name, variable, text string
		value                types.String
		into                 *string
	}{
		{"url", "SWITCHYARD_URL", urlText, given.URL, &client.url},
		{"key", "SWITCHYARD_KEY", keyText, given.Key, &client.key},
		{"workspace", "SWITCHYARD_WORKSPACE", workspaceText, given.Workspace, &client.workspace},
	}
	for _, one := range settings {
		if one.value.IsUnknown() {
			client.unknown = "`" + one.name + "` of the provider is not known yet: it comes from a resource that is not there."
			continue
		}
		*one.into = one.value.ValueString()
		if one.value.IsNull() {
			*one.into = os.Getenv(one.variable)
		}
		if *one.into == "" {
			resp.Diagnostics.AddAttributeError(path.Root(one.name), "The provider needs `"+one.name+"`", one.text)
		}
	}
	client.url = trimURL(client.url)
	if where, err := url.Parse(client.url); client.url != "" && (err != nil || where.Host == "" || where.User != nil) {
		resp.Diagnostics.AddAttributeError(path.Root("url"), "Not an address of a server", urlText)
	}
	resp.ResourceData = client
}

func (s *switchyard) Resources(context.Context) []func() resource.Resource {
	all := []func() resource.Resource{}
	for name, spec := range s.description.Resources {
		all = append(all, func() resource.Resource { return &thing{name: name, spec: spec} })
	}
	return all
}

func (s *switchyard) DataSources(context.Context) []func() datasource.DataSource { return nil }
