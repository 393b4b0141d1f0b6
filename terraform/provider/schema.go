// The schema of a resource in Terraform's words, and what of a configuration is wrong before anybody is asked.
package provider

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/int64default"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func (t *thing) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{MarkdownDescription: t.spec.About, Attributes: schemaOf(t.spec.Attributes)}
}

func schemaOf(attributes map[string]*Attribute) map[string]schema.Attribute {
	all := map[string]schema.Attribute{}
	for name, one := range attributes {
		all[name] = attributeOf(one)
	}
	return all
}

func attributeOf(a *Attribute) schema.Attribute {
	required, optional := a.Required, !a.Required && !a.ReadOnly
	computed := a.Computed || a.ReadOnly
	text := a.told()
	switch a.Type {
	case "int":
		one := schema.Int64Attribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: text}
		if value, ok := a.Default.(float64); ok {
			one.Default = int64default.StaticInt64(int64(value))
		}
		return one
	case "number":
		return schema.NumberAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: text}
	case "bool":
		one := schema.BoolAttribute{Required: required, Optional: optional, Computed: computed, MarkdownDescription: text}
		if value, ok := a.Default.(bool); ok {
			one.Default = booldefault.StaticBool(value)
		}
		return one
	case "map":
		return schema.MapAttribute{ElementType: types.StringType, Required: required, Optional: optional,
			Computed: computed, MarkdownDescription: text}
	case "set":
		return schema.SetAttribute{ElementType: types.StringType, Required: required, Optional: optional,
			Computed: computed, MarkdownDescription: text}
	case "list":
		return schema.ListNestedAttribute{NestedObject: schema.NestedAttributeObject{Attributes: schemaOf(a.Fields)},
			Required: required, Optional: optional, Computed: computed, MarkdownDescription: text}
	case "object":
		return schema.SingleNestedAttribute{Attributes: schemaOf(a.Fields), Required: required, Optional: optional,
			Computed: computed, MarkdownDescription: text}
	}
	one := schema.StringAttribute{Required: required, Optional: optional, Computed: computed, Sensitive: a.Sensitive || a.Secret,
		WriteOnly: a.Secret, MarkdownDescription: text}
	if value, ok := a.Default.(string); ok {
		one.Default = stringdefault.StaticString(value)
	}
	return one
}

// told is the text of the API, and what Terraform makes of a change.
func (a *Attribute) told() string {
	parts := []string{}
	if a.Description != "" {
		parts = append(parts, a.Description)
	}
	if len(a.Enum) > 0 {
		parts = append(parts, "One of `"+strings.Join(a.Enum, "`, `")+"`.")
	}
	switch {
	case a.Secret:
		parts = append(parts, "Write-only.")
	case a.Replace:
		parts = append(parts, "A change replaces the resource.")
	case a.Fixed:
		parts = append(parts, "It cannot be changed.")
	}
	return strings.Join(parts, " ")
}

func (t *thing) ValidateConfig(_ context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	values := attributesIn(req.Config.Raw)
	for name, one := range t.spec.Attributes {
		validate(one, values[name], path.Root(name), &resp.Diagnostics)
	}
}

// validate holds a value against the bounds of the OpenAPI document, and what is inside it too.
func validate(a *Attribute, value tftypes.Value, at path.Path, found *diag.Diagnostics) {
	if value.IsNull() || !value.IsKnown() {
		return
	}
	wrong := func(format string, args ...any) {
		found.AddAttributeError(at, "Not a value that Switchyard takes", fmt.Sprintf(format, args...)+".")
	}
	switch a.Type {
	case "string":
		var text string
		if value.As(&text) != nil {
			return
		}
		if problem := a.problemOf(text); problem != "" {
			wrong("%s", problem)
		}
	case "int", "number":
		number := new(big.Float)
		if value.As(&number) != nil {
			return
		}
		if a.Min != nil && number.Cmp(big.NewFloat(*a.Min)) < 0 {
			wrong("It must be at least %s", big.NewFloat(*a.Min).Text('f', -1))
		}
		if a.Max != nil && number.Cmp(big.NewFloat(*a.Max)) > 0 {
			wrong("It must be at most %s", big.NewFloat(*a.Max).Text('f', -1))
		}
	case "set":
		for _, element := range elementsIn(value) {
			var text string
			if !element.IsKnown() || element.IsNull() || element.As(&text) != nil {
				continue
			}
			if problem := a.problemOf(text); problem != "" {
				wrong("%s", problem)
			}
		}
	case "list":
		for index, element := range elementsIn(value) {
			inside(a, element, at.AtListIndex(index), found)
		}
	case "object":
		inside(a, value, at, found)
	}
}

func inside(a *Attribute, value tftypes.Value, at path.Path, found *diag.Diagnostics) {
	values := attributesIn(value)
	for name, field := range a.Fields {
		validate(field, values[name], at.AtName(name), found)
	}
}

func (a *Attribute) problemOf(text string) string {
	if len(a.Enum) > 0 && !contains(a.Enum, text) {
		return "It must be one of '" + strings.Join(a.Enum, "', '") + "', not '" + text + "'"
	}
	if a.pattern != nil && !a.pattern.MatchString(text) {
		return "It must match " + a.Pattern
	}
	return ""
}

func contains(all []string, one string) bool {
	for _, other := range all {
		if other == one {
			return true
		}
	}
	return false
}
