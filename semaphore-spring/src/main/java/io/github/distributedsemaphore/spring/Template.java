package io.github.distributedsemaphore.spring;

import java.lang.reflect.Method;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.core.env.Environment;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.common.CompositeStringExpression;
import org.springframework.expression.common.LiteralExpression;
import org.springframework.expression.common.TemplateParserContext;
import org.springframework.expression.spel.standard.SpelExpressionParser;

/** Text with expressions between <code>#{</code> and <code>}</code>, parsed once. */
final class Template {
    private static final ParameterNameDiscoverer PARAMETER_NAMES = new DefaultParameterNameDiscoverer();

    private final String text;
    private final List<Expression> parts;
    private final BeanFactoryResolver beans;

    /** Replaces the placeholders in a text and parses what is left. */
    Template(String text, ConfigurableBeanFactory beanFactory) {
        this.text = withoutPlaceholders(text, beanFactory);
        Expression parsed = new SpelExpressionParser().parseExpression(this.text, new TemplateParserContext());
        this.parts = parsed instanceof CompositeStringExpression all ? List.of(all.getExpressions()) : List.of(parsed);
        this.beans = new BeanFactoryResolver(beanFactory);
    }

    /** Replaces placeholders as the application does it; one that nothing replaces is refused by the second look. */
    static String withoutPlaceholders(String text, ConfigurableBeanFactory beanFactory) {
        String replaced = beanFactory.resolveEmbeddedValue(text);
        return replaced == null ? "" : beanFactory.getBean(Environment.class).resolveRequiredPlaceholders(replaced);
    }

    boolean isFixed() {
        return parts.stream().allMatch(LiteralExpression.class::isInstance);
    }

    /** The text without placeholders. */
    String text() {
        return text;
    }

    /** The text for one call. */
    String evaluate(@Nullable Object target, Method method, @Nullable Object[] arguments) {
        if (isFixed()) {
            return text;
        }
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(
                target == null ? method.getDeclaringClass() : target, method, arguments, PARAMETER_NAMES);
        context.setBeanResolver(beans);
        StringBuilder result = new StringBuilder();
        for (Expression part : parts) {
            result.append(
                    part instanceof LiteralExpression ? part.getExpressionString() : value(part, context, method));
        }
        return result.toString();
    }

    private String value(Expression part, EvaluationContext context, Method method) {
        String value = part.getValue(context, String.class);
        if (value == null || value.isBlank()) {
            throw new IllegalArgumentException("#{" + part.getExpressionString() + "} in '" + text
                    + "' of @WithPermit on " + method + " is " + (value == null ? "null" : "blank")
                    + "; a name such as #tenant needs classes that were compiled with -parameters");
        }
        return value;
    }
}
