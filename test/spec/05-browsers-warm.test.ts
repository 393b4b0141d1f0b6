// §5, R3: a browser's session may do what a key with its scopes may, and so may what a request of it brings about.
import { expect, test } from 'vitest'
import { newPerson, watched } from '../support/browser.ts'
import { artifactForm, FORM_TYPE } from '../support/forms.ts'
import { withService } from '../support/service.ts'

const { mails, options } = watched()

withService((service) => {
  test('§bundles a signed-in owner warms a bundle: its calls are made for the one who asked', async () => {
    const person = await newPerson(service(), mails)
    const uploaded = await service().app.inject({
      method: 'POST',
      url: '/v2/artifacts',
      headers: { cookie: String(person.jar.cookie), 'sec-fetch-site': 'same-origin', 'content-type': FORM_TYPE },
      payload: artifactForm('Rules. '.repeat(100)),
    })
    const items = [{ artifact_id: uploaded.json().id, role: 'system' }]
    const { id } = (await person.post('/v2/bundles', { items })).body
    const warmed = await person.post(`/v2/bundles/${id}/warm`, { model: 'gpt-4o-mini' })
    expect(warmed.body.targets).toMatchObject([{ status: 'warmed', reason: null }])
    const { data } = (await person.get('/v2/usage')).body
    expect(data).toMatchObject([{ trace_id: warmed.body.targets[0].trace_id, bundle_id: id }])
  })
}, options)
