/**
 * Pictures of results as SVG: lines over a number, or bars in groups, each with the spread of its
 * samples.
 */
import * as echarts from 'echarts'

export interface Axis {
  readonly name: string
  /** Tenfold steps. @default even steps from 0 */
  readonly log?: boolean
}

export interface Point {
  readonly x: number
  readonly y: number
  /** The ends of the bar that shows the spread. */
  readonly low?: number
  readonly high?: number
}

export interface LineChart {
  readonly type: 'lines'
  readonly title: string
  readonly x: Axis
  readonly y: Axis
  readonly lines: readonly {
    readonly name: string
    readonly points: readonly Point[]
    /** Calculated, not measured. */ readonly dashed?: boolean
  }[]
}

export interface BarChart {
  readonly type: 'bars'
  readonly title: string
  readonly y: Axis
  readonly groups: readonly string[]
  /** A value for each group; `undefined` where there is none. */
  readonly bars: readonly {
    readonly name: string
    readonly values: readonly (
      | { readonly median: number; readonly low: number; readonly high: number }
      | undefined
    )[]
  }[]
}

export type Chart = LineChart | BarChart

const WIDTH = 860
const HEIGHT = 440
const CAP = 4

export function svg(chart: Chart): string {
  const drawn = echarts.init(null, null, {
    renderer: 'svg',
    ssr: true,
    width: WIDTH,
    height: HEIGHT,
  })
  drawn.setOption({
    animation: false,
    backgroundColor: '#fff',
    title: { text: chart.title, left: 'center', top: 8, textStyle: { fontSize: 15 } },
    legend: { top: 34, type: 'plain' },
    grid: { left: 80, right: 30, top: 88, bottom: 56 },
    ...(chart.type === 'lines' ? lines(chart) : bars(chart)),
  })
  const text = drawn.renderToSVGString()
  drawn.dispose()
  return `${text}\n`
}

function axis({ name, log = false }: Axis, gap: number): object {
  return {
    type: log ? 'log' : 'value',
    name,
    nameLocation: 'middle',
    nameGap: gap,
    axisLabel: { formatter: (value: number) => value.toLocaleString('en') },
  }
}

function lines({ x, y, lines }: LineChart): object {
  return {
    xAxis: axis(x, 32),
    yAxis: axis(y, 58),
    series: lines.flatMap(({ name, points, dashed = false }, at) => {
      const shown = points.filter((point) => !y.log || point.y > 0)
      const color = colour(at)
      return [
        {
          type: 'line',
          name,
          color,
          symbol: dashed ? 'none' : 'circle',
          symbolSize: 7,
          lineStyle: { type: dashed ? 'dashed' : 'solid' },
          data: shown.map((point) => [point.x, point.y]),
        },
        ...spreads(
          name,
          color,
          shown.flatMap(({ x, low, high }) =>
            low === undefined || high === undefined || (y.log && low <= 0) ? [] : [[x, low, high]],
          ),
          () => 0,
        ),
      ]
    }),
  }
}

function bars({ y, groups, bars }: BarChart): object {
  return {
    xAxis: {
      type: 'category',
      data: groups,
      axisLabel: {
        interval: 0,
        width: (WIDTH - 110) / groups.length,
        overflow: 'break',
        fontSize: groups.length > 8 ? 9 : 12,
      },
    },
    yAxis: axis(y, 58),
    series: bars.flatMap(({ name, values }, at) => [
      {
        type: 'bar',
        name,
        color: colour(at),
        barGap: '0%',
        barCategoryGap: '25%',
        data: values.map((value) => value?.median ?? null),
      },
      ...spreads(
        name,
        '#333',
        values.flatMap((value, group) => (value ? [[group, value.low, value.high]] : [])),
        (groupWidth) => groupWidth * 0.75 * ((at + 0.5) / bars.length - 0.5),
      ),
    ]),
  }
}

function colour(at: number): string {
  const palette = [
    '#1f5fbf',
    '#d1603d',
    '#3a8f5c',
    '#8a5fb0',
    '#b8901f',
    '#5b6b7a',
    '#c2477f',
    '#3aa0a8',
  ]
  return palette[at % palette.length]!
}

/**
 * The middle halves, each as a line with a cap at both ends. `shift`: from the group's middle, of
 * the group's width.
 */
function spreads(
  name: string,
  stroke: string,
  data: number[][],
  shift: (groupWidth: number) => number,
): echarts.CustomSeriesOption[] {
  if (data.length === 0) return []
  return [
    {
      type: 'custom',
      name,
      z: 5,
      silent: true,
      itemStyle: { color: stroke },
      data,
      renderItem: (_params, api) => {
        const [x = 0, low = 0] = api.coord([api.value(0), api.value(1)])
        const [, high = 0] = api.coord([api.value(0), api.value(2)])
        const [width = 0] = (api.size?.([1, 0]) as number[] | undefined) ?? []
        const middle = x + shift(width)
        const line = (x1: number, y1: number, x2: number, y2: number) => ({
          type: 'line' as const,
          shape: { x1, y1, x2, y2 },
          style: { stroke },
        })
        return {
          type: 'group',
          children: [
            line(middle, low, middle, high),
            line(middle - CAP, low, middle + CAP, low),
            line(middle - CAP, high, middle + CAP, high),
          ],
        }
      },
    },
  ]
}
