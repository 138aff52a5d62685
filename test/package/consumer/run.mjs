import express from 'express'
import * as wideCache from 'wide-cache'
import { visits } from './visits.cjs'

console.log(JSON.stringify(await visits(wideCache, express)))
